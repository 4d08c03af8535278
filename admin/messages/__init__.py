"""Operations on messages: sending, reading, finding."""
