import { allRoutes } from '../../api/app.ts';
import type { ApiDeps } from '../../api/deps.ts';

export type Call = { readonly method: string; readonly path: string };

/** Every call that the API lists, with an id in the place of each parameter. Nothing of it is called here. */
export const everyRoute = (id: string): Call[] =>
  allRoutes({} as ApiDeps).map(({ method, path }) => ({
    method: method.toUpperCase(),
    path: `/api/v1${path.replaceAll(/\{\w+\}/gv, id)}`,
  }));
