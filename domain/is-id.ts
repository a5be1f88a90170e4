const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/v;

/** Whether a text has the form of an id. PostgreSQL refuses a query for anything else. */
export const isId = (text: string): boolean => uuid.test(text);
