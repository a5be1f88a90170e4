import type { ApiDeps } from '../deps.ts';
import type { Route } from '../http/route.ts';
import { cancelCall, retryCall, settleCall } from './lifecycle-routes.ts';
import { listCall, readCall } from './read-routes.ts';
import { createCall, editCall, validateCall } from './write-routes.ts';

export const postRoutes = (deps: ApiDeps): Route[] => [
  listCall(deps),
  createCall(deps),
  validateCall(deps),
  readCall(deps),
  editCall(deps),
  cancelCall(deps),
  retryCall(deps),
  settleCall(deps),
];
