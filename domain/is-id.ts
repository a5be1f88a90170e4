const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/v;

/** Whether it looks like an id of ours. PostgreSQL would refuse a query for anything else. */
export const isId = (text: string): boolean => uuid.test(text);
