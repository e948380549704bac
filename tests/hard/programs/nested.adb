--  Nested subprograms with access to the enclosing frame (trampolines and static links), exceptions,
--  a task, unconstrained results on the secondary stack.
with Ada.Text_IO;

procedure Nested is
   type Number is mod 2 ** 64;
   Sink : Number := 0 with Volatile;

   procedure Ada_Leaf (Turns : Number);
   pragma No_Inline (Ada_Leaf);
   procedure Ada_Leaf (Turns : Number) is
   begin
      for I in 1 .. Turns loop
         Sink := Sink * 3 + I;
      end loop;
   end Ada_Leaf;

   procedure Apply (Work : not null access procedure (Turns : Number); Turns : Number);
   pragma No_Inline (Apply);
   procedure Apply (Work : not null access procedure (Turns : Number); Turns : Number) is
   begin
      Work (Turns);
      Sink := Sink + 1;
   end Apply;

   procedure Recurse (Depth : Positive; Turns : Number);
   pragma No_Inline (Recurse);
   procedure Recurse (Depth : Positive; Turns : Number) is
      Here : Number := Number (Depth) with Volatile;
      procedure Inner (More : Number);
      pragma No_Inline (Inner);
      procedure Inner (More : Number) is
      begin
         Here := Here + More;
         Ada_Leaf (More);
         Sink := Sink + Here;
      end Inner;
   begin
      if Depth > 1 then
         Recurse (Depth - 1, Turns);
      else
         Apply (Inner'Access, Turns);
      end if;
      Sink := Sink + Here;
   end Recurse;

   procedure Raises (Turns : Number);
   pragma No_Inline (Raises);
   procedure Raises (Turns : Number) is
   begin
      Ada_Leaf (Turns);
      if Turns > 0 then
         raise Constraint_Error;
      end if;
   end Raises;

   task type Worker;
   task body Worker is
   begin
      Recurse (10, 300_000_000);
   end Worker;
begin
   for I in 1 .. 900 loop
      Recurse (20, 2_000_000);
   end loop;
   for I in 1 .. 50_000 loop
      begin
         Raises (10);
      exception
         when Constraint_Error => Sink := Sink + 1;
      end;
   end loop;
   declare
      Other : Worker;
   begin
      null;
   end;
   Ada.Text_IO.Put_Line (Ada.Text_IO.Standard_Error, Sink'Image);
end Nested;
