import { allRoutes } from '../../api/app.ts';

export type Call = { readonly method: string; readonly path: string };

/** Every call of the API, with an id for each parameter. Calls nothing. */
export const everyRoute = (id: string): Call[] =>
  allRoutes.map(({ method, path }) => ({
    method: method.toUpperCase(),
    path: `/api/v1${path.replaceAll(/\{\w+\}/gv, id)}`,
  }));
