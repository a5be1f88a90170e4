import type { ExecutionContext } from 'ava';
import { startApi, type ApiOptions, type Punctual } from '../../../support/punctual.ts';

/** Nobody listens there. The media library does well without Temporal, and so do its tests. */
export const noTemporal = { TEMPORAL_ADDRESS: '127.0.0.1:1', TEMPORAL_NAMESPACE: 'none' };

/** An API on a real socket with a real database, a library on the disk, and nothing else. */
export const startLibrary = (t: ExecutionContext, options: ApiOptions = {}): Promise<Punctual> =>
  startApi(t, { temporalEnv: noTemporal, ...options });
