type Json = Readonly<Record<string, unknown>>;

/**
 * The document as it is published. What comes from us may carry more fields than it names: answers grow, and a
 * client that was generated from an older document must take the newer ones. What comes to us stays strict, as the
 * server is. Our own tests hold answers against the document from before this, which allows no field that it does
 * not name.
 */
export function openAnswers(document: Json): Json {
  const asked = schemasOfRequests(document);
  const components = document['components'] as Readonly<Record<string, Json>>;
  const schemas = Object.entries(components['schemas'] ?? {}).map(([name, schema]) => [
    name,
    asked.has(name) ? schema : open(schema),
  ]);
  return {
    ...document,
    paths: eachOperation(document, (operation) => ({
      ...operation,
      responses: open(operation['responses']),
    })),
    webhooks: open(document['webhooks']),
    components: {
      ...components,
      responses: open(components['responses']),
      schemas: Object.fromEntries(schemas),
    },
  };
}

function eachOperation(document: Json, map: (operation: Json) => Json): Json {
  const paths = Object.entries(document['paths'] as Readonly<Record<string, Json>>);
  return Object.fromEntries(
    paths.map(([path, item]) => [
      path,
      Object.fromEntries(Object.entries(item).map(([method, one]) => [method, map(one as Json)])),
    ]),
  );
}

/** Without what forbids further fields, all the way down. */
function open(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(open);
  }

  if (value === null || typeof value !== 'object') {
    return value;
  }

  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, part]) => key !== 'additionalProperties' || part !== false)
      .map(([key, part]) => [key, open(part)]),
  );
}

/** Names of the schemas that a request may hold, at any depth. */
function schemasOfRequests(document: Json): Set<string> {
  const { schemas } = document['components'] as { readonly schemas: Json };
  const found = new Set<string>();
  const collect = (value: unknown): void => {
    for (const name of namesIn(value)) {
      if (!found.has(name)) {
        found.add(name);
        collect(schemas[name]);
      }
    }
  };
  eachOperation(document, (operation) => {
    collect(operation['requestBody']);
    collect(operation['parameters']);
    return operation;
  });
  return found;
}

const namesIn = (value: unknown): string[] =>
  [...JSON.stringify(value ?? null).matchAll(/"#\/components\/schemas\/(?<name>\w+)"/gv)].map(
    ({ groups }) => groups?.['name'] ?? '',
  );
