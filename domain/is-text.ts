/** Whether every program can take it as text: PostgreSQL holds no NUL, and half a surrogate pair is no character. */
export const isText = (text: string): boolean => !text.includes('\0') && text.isWellFormed();
