struct cell {
    long x;
    long member();
};

struct shape {
    virtual int sides(int n);
};

extern long out, barrier[512];
int divide(int a, int b);
int divide_by_zero(int a);
double divide_by_none(double a);
double add_to_none(double a, double b);
void cross(long a);
void store(const long *p);
int behind_branch(int n, const int *p);
int through_table(shape *s, int n);
int own(const int *p);
