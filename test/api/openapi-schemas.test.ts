import test from 'ava';
import { raw } from 'jq-wasm';
import { namedEnums, namedSchemas } from '../../api/openapi/components.ts';
import { openAnswers } from '../../api/openapi/document.ts';
import { info } from '../../api/openapi/info.ts';
import { Contract, ourDocument } from '../support/contract.ts';

const strict = new Contract(ourDocument());
const published = new Contract(JSON.parse(JSON.stringify(openAnswers(ourDocument()))));
const { paths, webhooks, components } = published.document;

type Part = {
  readonly $ref?: string;
  readonly name?: string;
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly enum?: readonly string[];
  readonly items?: Part;
  readonly anyOf?: readonly Part[];
  readonly properties?: Readonly<Record<string, Part>>;
  readonly schema?: Part;
  readonly parameters?: readonly Part[];
};
type Found = readonly [place: string, part: Part];

const schemas = Object.entries(components.schemas) as [string, Part][];
const operations: Found[] = [paths, webhooks].flatMap((items) =>
  Object.entries(items).flatMap(([path, item]) =>
    Object.entries(item).map(([method, one]): Found => [`${method} ${path}`, one as Part]),
  ),
);
const parameters = operations.flatMap(([place, { parameters: all = [] }]) =>
  all.map((one): Found => [`${place} ${one.name}`, one]),
);
const properties = schemas.flatMap(([name, { properties: all = {} }]) =>
  Object.entries(all).map(([field, one]): Found => [`${name}.${field}`, one]),
);

/** Every part of the document that has this keyword, except in examples. */
function partsWith(keyword: keyof Part, value: unknown, place = ''): Found[] {
  if (value === null || typeof value !== 'object') {
    return [];
  }

  return [
    ...(keyword in value ? [[place, value] as Found] : []),
    ...Object.entries(value).flatMap(([key, part]) =>
      key === 'examples' ? [] : partsWith(keyword, part, `${place}/${key}`),
    ),
  ];
}

test('every operation, parameter, field, header and named schema has a description', (t) => {
  const headers = Object.entries(components.headers) as Found[];
  const named = new Set([...Object.keys(namedSchemas), ...Object.keys(namedEnums)]);
  const ours = schemas.filter(([name]) => named.has(name));
  const all = [...operations, ...parameters, ...properties, ...headers, ...ours];
  t.true(all.length > 400);
  t.deepEqual(
    all.flatMap(([place, { description }]) => (description ? [] : [place])),
    [],
    'Describe a field in its schema. api/openapi/components.ts has named schemas, fields.ts fields that mean the same everywhere.',
  );
});

test('every id, time and network says what it is', (t) => {
  const meant = ([, part]: Found): Part[] => {
    const one = part.schema ?? part;
    return [one, ...(one.anyOf ?? []), ...(one.items ? [one.items] : [])];
  };
  const formats = [
    [/[.\s](?:\w+_)?ids?$/v, 'uuid'],
    [/_at$/v, 'date-time'],
  ] as const;
  const named = [...parameters, ...properties].filter(
    // Ids that others make. `scheduled_at` in a request may be a local time.
    ([place]) =>
      !/Event-Id$|request_id|external_id|Post(?:Edit|ToValidate)\.scheduled_at$|^NewPost\.scheduled_at$/v.test(
        place,
      ),
  );
  for (const [name, format] of formats) {
    const found = named.filter(([place]) => name.test(place));
    t.true(found.length > 20);
    t.deepEqual(
      found.filter((one) => !meant(one).some((part) => part.format === format)).map(([at]) => at),
      [],
    );
  }

  const networks = named.filter(([place]) => /[.\s]platform$/v.test(place));
  t.true(networks.length > 8);
  const platform = '#/components/schemas/Platform';
  t.true(networks.every((one) => meant(one).some(({ $ref }) => $ref === platform)));
});

test('every object and every enum is a named schema, and none is named as a class of JavaScript', (t) => {
  const isTop = (place: string) => /^\/\w+$/v.test(place);
  for (const keyword of ['properties', 'enum'] as const) {
    const anonymous = partsWith(keyword, components.schemas).filter(([place]) => !isTop(place));
    const inPaths = partsWith(keyword, [paths, webhooks, components.responses]);
    t.deepEqual(
      [...anonymous, ...inPaths].map(([place]) => place),
      [],
    );
  }

  t.deepEqual(
    schemas.map(([name]) => name).filter((name) => name in globalThis),
    [],
  );
});

// OpenAPI Generator gives such a field a class of that name: its Java client overflowed the stack at each post.
test('no schema is called as a field with alternatives: Post and status are not PostStatus', (t) => {
  const names = new Set(schemas.map(([name]) => name.toLowerCase()));
  const fields = properties.filter(
    ([, { anyOf = [] }]) => anyOf.filter(({ type }) => type !== 'null').length > 1,
  );
  t.true(fields.length > 20);
  t.deepEqual(
    fields
      .map(([place]) => place.replaceAll(/[._]/gv, ''))
      .filter((name) => names.has(name.toLowerCase())),
    [],
    'Name the enum otherwise in api/openapi/components.ts.',
  );
});

// OpenAPI Generator makes an empty class of "one of these texts, or another": its C#, Kotlin and PHP clients lost them.
test('the filter of the introduction leaves such generators a text in place of an open enum', async (t) => {
  const [, filter = ''] = /`jq '(.+)' openapi\.json`/v.exec(info.description) ?? [];
  const { stdout } = await raw(JSON.stringify(published.document), filter);
  const open = (document: unknown) =>
    partsWith('anyOf', document).filter(
      ([, { anyOf = [] }]) =>
        anyOf.some(({ type }) => type === 'string') && anyOf.some(({ $ref }) => $ref !== undefined),
    );
  const inRequests = open(published.document).filter(([at]) => at.endsWith('/thread/items'));
  t.true(open(published.document).length > inRequests.length + 20);
  t.deepEqual(
    open(JSON.parse(stdout)).map(([at]) => at),
    inRequests.map(([at]) => at),
  );
});

test('a number of bytes has 64 bits', (t) => {
  const bytes = properties.filter(
    ([place, { type }]) =>
      [type].flat().includes('integer') && /_bytes$|^UsedLimit\.(?:limit|used)$/v.test(place),
  );
  t.true(bytes.length > 8);
  t.deepEqual(
    bytes.filter(([, { format }]) => format !== 'int64').map(([place]) => place),
    [],
  );
});

test('an answer may have a new value of an enum; a request, and the tests of this project, may not', (t) => {
  const enums = partsWith('enum', components.schemas).map(([place]) => place.slice(1));
  t.true(enums.length > 10);
  for (const [field, value] of [
    ['Post.status', 'paused'],
    ['ChannelResult.error_code', 'a_new_code'],
    ['ApiError.code', 'a_new_code'],
    ['Channel.platform', 'a_new_network'],
  ] as const) {
    const [schema = '', name = ''] = field.split('.');
    const at = ['components', 'schemas', schema, 'properties', name];
    t.deepEqual(published.faults(at, value), [], field);
    t.true(strict.faults(at, value).length > 0, field);
  }

  const asked = ['components', 'schemas', 'NewPost', 'properties', 'video'];
  t.true(published.faults(asked, { privacy: 'secret' }).length > 0);
});

test("a channel's options are those of one network", (t) => {
  const at = ['components', 'schemas', 'NewPost', 'properties', 'channel_options'];
  const faults = (options: object) =>
    published.faults(at, { '0192f0a1-7c3e-7b52-8d4f-2a9c6e1b0f31': options }).length;
  t.is(faults({ visibility: 'unlisted', sensitive: true }), 0);
  t.is(faults({ langs: ['en'] }), 0);
  t.true(faults({ visibility: 'unlisted', langs: ['en'] }) > 0);
  t.true(faults({ visibilty: 'unlisted' }) > 0);
});
