import type { ApiDeps } from '../deps.ts';
import type { Route } from '../http/route.ts';
import { cancelCall, editCall, retryCall } from './change-routes.ts';
import { createCall, validateCall } from './create-routes.ts';
import { listCall, readCall } from './read-routes.ts';
import { settleCall } from './settle-route.ts';

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
