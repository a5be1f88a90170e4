/** A part of a document, read by key. */
// oxlint-disable-next-line typescript/no-explicit-any
type Part = { readonly [key: string]: any };

/** The place of a breaking change, such as `GET /posts` or `Post.status`, and the change. */
type Break = readonly [where: string, what: string];

/**
 * Compares two OpenAPI documents. A request that fits the older one has to fit the newer one; answers and events of the
 * newer one have to fit the older one. Names of schemas may change.
 */
export function breakingChanges(older: Part, newer: Part): Break[] {
  const requests = fitOf(older, newer, true);
  const answers = fitOf(newer, older, false);

  function* operation(where: string, was: Part, is: Part, sent: Fit): Generator<Break> {
    if (was['operationId'] !== is['operationId'] || (is['requestBody'] && !was['requestBody'])) {
      yield [where, 'has another operationId, or needs a body'];
    }

    yield* sent(where, parametersOf(was), parametersOf(is));
    yield* contents(where, was['requestBody'], is['requestBody'], sent);
    for (const [status, answer] of entries(was['responses'])) {
      const now = is['responses'][status];
      if (now !== undefined) {
        yield* contents(where, follow(older, answer), follow(newer, now), answers);
      } else if (status.startsWith('2')) {
        yield [where, `no longer answers ${status}`];
      }
    }
  }

  function* operations(key: 'paths' | 'webhooks', sent: Fit): Generator<Break> {
    for (const [path, item] of entries(older[key])) {
      for (const [method, was] of entries(item)) {
        const where = key === 'paths' ? `${method.toUpperCase()} ${path}` : path;
        const is = newer[key]?.[path]?.[method];
        yield* is === undefined ? [[where, 'is gone'] as const] : operation(where, was, is, sent);
      }
    }
  }

  const all = [...operations('paths', requests), ...operations('webhooks', answers)];
  return [...new Map(all.map((one) => [one.join(': '), one])).values()];
}

function* contents(where: string, was: Part = {}, is: Part = {}, fit: Fit): Generator<Break> {
  for (const [type, { schema }] of entries(was['content'])) {
    const now = is['content']?.[type];
    yield* now === undefined
      ? [[where, `${type} is gone`] as const]
      : fit(where, schema, now.schema);
  }
}

type Fit = (where: string, was: Part, is: Part) => Generator<Break>;

/**
 * Compares what one side sends with what the other side expects.
 *
 * @param isAsked For requests: the sender goes by the older document.
 */
function fitOf(sender: Part, reader: Part, isAsked: boolean): Fit {
  function* compare(where: string, sent: Part, expected: Part): Generator<Break> {
    const known = kindsOf(reader, expected);
    for (const [kind, one] of kindsOf(sender, sent)) {
      const other = known.get(kind) ?? (kind === 'integer' ? known.get('number') : undefined);
      const faults = other === undefined ? [kind] : kind === 'null' ? [] : misfits(one, other);
      for (const fault of faults) {
        yield [where, `${isAsked ? 'refuses' : 'may be'} ${fault}`];
      }
      if (other && kind === 'array') {
        yield* compare(`${where}[]`, one['items'], other['items']);
      } else if (other && kind.startsWith('object')) {
        yield* compareFields(other['name'] ?? where, one, other);
      }
    }
  }

  function* compareFields(where: string, sent: Part, expected: Part): Generator<Break> {
    const [was, is] = isAsked ? [sent, expected] : [expected, sent];
    for (const name of Object.keys(was['properties'] ?? {})) {
      const at = `${where}.${name}`;
      const [one, other] = [sent['properties']?.[name], expected['properties']?.[name]];
      yield* one && other ? compare(at, one, other) : [[at, 'is gone'] as const];
    }

    for (const name of (expected['required'] ?? []) as string[]) {
      if (is['properties'][name] && !sent['required']?.includes(name)) {
        yield [`${where}.${name}`, isAsked ? 'is now required' : 'may be absent'];
      }
    }

    const [values, known] = [sent['additionalProperties'], expected['additionalProperties']];
    yield* values && known ? compare(`${where}.*`, values, known) : [];
  }

  return (where, was, is) => (isAsked ? compare(where, was, is) : compare(where, is, was));
}

/** The keywords by which one side sends more than the other expects. */
const misfits = (sent: Part, expected: Part): string[] =>
  Object.entries(expected).flatMap(([key, value]) => {
    const other = sent[key];
    if (key === 'enum') {
      return (other ?? ['any text']).filter((one: unknown) => !value.includes(one));
    }

    const isWider =
      (key.startsWith('max') && !(other <= value)) ||
      (key.startsWith('min') && !(other >= value)) ||
      (/^(?:format|pattern)$/v.test(key) && other !== value && value !== 'int64');
    return isWider ? [`${key} ${other ?? 'unset'}`] : [];
  });

/** The alternatives of a schema by their types; several objects by their names. A text beside an enum allows any. */
function kindsOf(document: Part, schema: Part): ReadonlyMap<string, Part> {
  const all = alternatives(document, schema);
  const isOnly = all.filter(({ type }) => type === 'object').length === 1;
  const kindOf = ({ type, name }: Part) => (type === 'object' && !isOnly ? `object ${name}` : type);
  const closedFirst = [...all.filter((one) => one['enum']), ...all.filter((one) => !one['enum'])];
  return new Map(closedFirst.map((one) => [kindOf(one), one]));
}

function alternatives(document: Part, schema: Part): Part[] {
  const { anyOf, type, const: value, ...rest } = follow(document, schema);
  return anyOf
    ? anyOf.flatMap((one: Part) => alternatives(document, one))
    : [type].flat().map((one) => Object.assign({ type: one }, value && { enum: [value] }, rest));
}

/** The target of a reference, with its name. */
function follow(document: Part, { $ref, ...part }: Part): Part {
  const [kind = '', name = ''] = ($ref as string | undefined)?.split('/').slice(2) ?? [];
  return $ref ? { ...document['components'][kind][name], name } : part;
}

/** The parameters of a call, as the fields of an object. */
const parametersOf = ({ parameters = [] }: Part): Part => ({
  type: 'object',
  properties: Object.fromEntries(parameters.map(({ name, schema }: Part) => [name, schema])),
  required: parameters.flatMap(({ name, required }: Part) => (required ? [name] : [])),
});

const entries = (part: Part = {}): [string, Part][] => Object.entries(part);
