import type { ApiDeps } from '../deps.ts';
import type { Route } from '../http/route.ts';
import { deliveryRoutes } from './delivery-routes.ts';
import { endpointRoutes } from './endpoint-routes.ts';

export const webhookRoutes = (deps: ApiDeps): Route[] => [
  ...endpointRoutes(deps),
  ...deliveryRoutes(deps),
];
