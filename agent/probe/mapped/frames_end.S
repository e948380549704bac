/* The end of .eh_frame, for __register_frame_info, which is told where that begins alone. */
        .section .eh_frame, "a", @progbits
        .long   0

        .section .note.GNU-stack, "", @progbits
