import type { Route } from '../../api/http/route.ts';

/** A path parameter, a query parameter or a field of a body by which a caller names a thing of a workspace. */
const namesAThing = /(?:^|_)ids?$|^channel_bodies$|^cursor$/v;

type Schema = {
  readonly format?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
};

/** Where a call takes ids: `{id}` in the path, `?cursor` in the query, `/channel_ids` in the body. */
export function idPlaces({ path, query = {}, body = {} }: Route): string[] {
  return [
    ...[...path.matchAll(/\{\w+\}/gv)].map(([name]) => name),
    ...Object.keys(query)
      .filter((name) => namesAThing.test(name))
      .map((name) => `?${name}`),
    ...bodyPlaces(body as Schema),
  ];
}

function bodyPlaces({ properties = {}, items }: Schema, at = ''): string[] {
  const inFields = Object.entries(properties).flatMap(([name, schema]) => {
    const here = `${at}/${name}`;
    const isId = namesAThing.test(name) || (schema.format ?? schema.items?.format) === 'uuid';
    return isId ? [here] : bodyPlaces(schema, here);
  });
  return [...(items ? bodyPlaces(items, `${at}/*`) : []), ...inFields];
}
