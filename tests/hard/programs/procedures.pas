{ Nested procedures, exceptions and recursion. }
{$mode objfpc}
program procedures;
uses sysutils;
var
  sink: qword = 0;

procedure pascal_leaf(turns: longint);
var
  i: longint;
begin
  for i := 1 to turns do
    sink := sink * 3 + qword(i);
end;

procedure pascal_recurse(depth, turns: longint);
var
  here: longint;

  procedure inner(more: longint);
  begin
    here := here + 1;
    pascal_leaf(more);
    sink := sink + qword(here);
  end;

begin
  here := depth;
  if depth > 1 then
    pascal_recurse(depth - 1, turns)
  else
    inner(turns);
  sink := sink + qword(here);
end;

procedure raises(turns: longint);
begin
  pascal_leaf(turns);
  raise Exception.Create('raised');
end;

var
  i: longint;
begin
  for i := 1 to 400 do
    pascal_recurse(20, 2000000);
  for i := 1 to 20000 do
    try
      raises(1000);
    except
      on e: Exception do sink := sink + 1;
    end;
  writeln(stderr, sink);
end.
