import type { Client } from '@temporalio/client';

/** Without a deadline a call hangs 19 s when the server is away. In milliseconds. */
export const deadlineMs = 2000;

/** @throws ServiceError when Temporal has not answered by then. */
export const underDeadline = <T>(client: Client, call: () => Promise<T>): Promise<T> =>
  client.withDeadline(Date.now() + deadlineMs, call);
