// Something to chew on for the compiler that programs_test watches.
#include <iostream>
#include <map>
#include <regex>
#include <string>

int main()
{
    std::map<std::string, bool> matches;
    const std::regex pattern("a+b(c|d)*");
    for (int i = 0; i < 100; i++)
        matches[std::to_string(i)] = std::regex_match("aabcd", pattern);
    std::cout << matches.size() << '\n';
}
