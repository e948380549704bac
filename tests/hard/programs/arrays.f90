! Subroutines with automatic arrays, an internal procedure passed as an argument, recursion.
module work
  implicit none
  integer(8), volatile :: sink = 0
contains
  subroutine fortran_leaf(turns)
    integer, intent(in) :: turns
    integer :: i
    do i = 1, turns
      sink = sink + i
    end do
  end subroutine

  subroutine automatic(n, turns)
    integer, intent(in) :: n, turns
    real(8) :: room(n)
    room = n
    call fortran_leaf(turns)
    sink = sink + int(room(n))
  end subroutine

  subroutine apply(procedure_passed, turns)
    interface
      subroutine procedure_passed(turns)
        integer, intent(in) :: turns
      end subroutine
    end interface
    integer, intent(in) :: turns
    call procedure_passed(turns)
    sink = sink + 1
  end subroutine

  recursive subroutine recurse(depth, turns)
    integer, intent(in) :: depth, turns
    integer(8), volatile :: here
    here = depth
    if (depth > 1) then
      call recurse(depth - 1, turns)
    else
      call apply(inner, turns)
    end if
    sink = sink + here
  contains
    subroutine inner(more)
      integer, intent(in) :: more
      here = here + 1
      call automatic(100 + mod(more, 7), more)
      sink = sink + here
    end subroutine
  end subroutine
end module

program arrays
  use work
  implicit none
  integer :: i
  character(len=40) :: text
  do i = 1, 1200
    call recurse(25, 1000000)
  end do
  do i = 1, 600000
    write (text, '(i10, f12.3)') i, real(i)
  end do
  write (0, *) sink, text
end program
