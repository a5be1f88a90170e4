import { deepEqual } from 'node:assert/strict';
import formats from 'ajv-formats';
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import { allRoutes } from '../../api/app.ts';
import { createDocument, openAnswers } from '../../api/openapi/document.ts';

/** The answer to a call of the API. */
export type Reply = {
  readonly status: number;
  readonly headers: Headers;
  // Tests read answers without our types, as a program in another language would.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any;
};

type Located = { readonly $ref?: string };
type Answer = Located & { readonly headers?: Readonly<Record<string, Located>> };

export type Operation = {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, unknown>> };
  readonly responses: Readonly<Record<string, Answer>>;
  readonly 'x-codeSamples': readonly { readonly lang: string; readonly source: string }[];
};

export type Document = {
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly webhooks: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: Readonly<
    Record<'responses' | 'schemas' | 'headers', Readonly<Record<string, unknown>>>
  >;
};

/** Meaningful headers. An answer may send one only if the document describes it. */
const tellingHeaders = [
  'Location',
  'Idempotency-Replayed',
  'Retry-After',
  'WWW-Authenticate',
  'Allow',
  'RateLimit',
  'RateLimit-Policy',
];

/** A document of the API. Finds how an answer differs from it. */
export class Contract {
  readonly document: Document;
  // Validation against the meta-schema is off: it takes longer to prepare than all the rest, and would check only the
  // document's root, which is not a schema. `test/api/openapi.test.ts` validates the whole document.
  readonly #ajv = new Ajv2020({
    allErrors: true,
    strict: true,
    allowUnionTypes: true,
    meta: false,
    validateSchema: false,
    code: { optimize: false }, // Each process uses a validator only a few times.
  });

  readonly #validators = new Map<string, ValidateFunction>();

  constructor(document: Document) {
    this.document = document;
    formats.default(this.#ajv);
    // The mode is strict for schemas, and the document around them has other keywords.
    this.#ajv.addVocabulary(Object.keys(document));
    this.#ajv.addSchema(document, 'openapi.json');
  }

  /**
   * The contract of a running API, in the code's strict form. Throws unless the API serves the open form of it.
   *
   * @param url The API's, without a trailing slash.
   */
  static async of(url: string): Promise<Contract> {
    const document = ourDocument();
    deepEqual(await (await fetch(`${url}/openapi.json`)).json(), openAnswers(document));
    return new Contract(document);
  }

  /** Validates a value. @param pointer Of a schema in the document, as unescaped tokens. */
  faults(pointer: readonly string[], value: unknown): string[] {
    const validate = this.#validatorOf(`openapi.json#${encode(pointer)}`);
    return validate(value) ? [] : (validate.errors ?? []).map(toText);
  }

  /** Differences between the answer and the description of this call. */
  answerFaults(path: string, method: string, reply: Reply): string[] {
    const status = String(reply.status);
    return this.document.paths[path]?.[method]?.responses[status] === undefined
      ? [`${method} ${path} does not describe ${status}: ${JSON.stringify(reply.body)}`]
      : this.responseFaults(['paths', path, method, 'responses', status], reply);
  }

  /** @param pointer Of a Response Object. */
  responseFaults(pointer: readonly string[], { headers, body }: Reply): string[] {
    const at = this.follow(pointer);
    const described = Object.keys((this.at(at) as Answer).headers ?? {});
    const undescribed = tellingHeaders.filter((name) => !described.includes(name));
    return [
      ...undescribed.filter((name) => headers.has(name)).map((name) => `${name} is not described`),
      ...described.flatMap((name) => {
        const header = this.follow([...at, 'headers', name]);
        const { required } = this.at(header) as { readonly required: boolean };
        return required || headers.has(name)
          ? this.faults([...header, 'schema'], headers.get(name)).map((one) => `${name}: ${one}`)
          : [];
      }),
      ...(headers.get('content-type') === 'application/json; charset=utf-8'
        ? this.faults([...at, 'content', 'application/json', 'schema'], body)
        : [`Content-Type is ${headers.get('content-type')}`]),
    ];
  }

  /** Cached, because the client checks every answer of every test. */
  #validatorOf($ref: string): ValidateFunction {
    const known = this.#validators.get($ref) ?? this.#ajv.compile({ $ref });
    this.#validators.set($ref, known);
    return known;
  }

  /** The value at a pointer. */
  at(pointer: readonly string[]): unknown {
    return pointer.reduce(
      (part: unknown, token) => (part as Readonly<Record<string, unknown>> | undefined)?.[token],
      this.document,
    );
  }

  /** Follows a reference at the pointer's end. */
  follow(pointer: readonly string[]): readonly string[] {
    const reference = (this.at(pointer) as Located | undefined)?.$ref;
    return reference === undefined ? pointer : reference.split('/').slice(1);
  }
}

const encode = (pointer: readonly string[]): string =>
  pointer
    .map((token) => `/${encodeURIComponent(token.replaceAll('~', '~0').replaceAll('/', '~1'))}`)
    .join('');

const toText = ({ instancePath, message, params }: ErrorObject): string =>
  `${instancePath} ${message} ${JSON.stringify(params)}`;

/**
 * The strict document: it allows no field that it does not name. The published one is open (`api/openapi/document.ts`).
 * Nothing calls the routes, so they need no dependencies.
 */
export const ourDocument = (): Document =>
  JSON.parse(JSON.stringify(createDocument(allRoutes))) as Document;

/** The samples of all calls in a language. */
export const samplesIn = (language: string): string[] =>
  Object.values(ourDocument().paths)
    .flatMap((item) => Object.values(item))
    .flatMap((operation) => operation['x-codeSamples'])
    .filter(({ lang }) => lang === language)
    .map(({ source }) => source);
