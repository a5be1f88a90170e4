import type { ErrorCode } from '../../domain/errors.ts';
import type { HeaderSpec } from '../http/route.ts';

/** On every answer, so it is described once. */
const sharedHeaders: Readonly<Record<string, HeaderSpec>> = {
  'X-Request-Id': {
    description:
      'Names this call in the logs. It is your own when you sent an `X-Request-Id` of 1 to 100 letters, digits and `_ . : -`.',
    schema: { type: 'string', pattern: '^[\\w.:\\-]{1,100}$' },
  },
};

/** What an error answer carries beside that. */
export const errorHeaders: Readonly<
  Partial<Record<ErrorCode, Readonly<Record<string, HeaderSpec>>>>
> = {
  unauthorized: {
    'WWW-Authenticate': {
      description: 'How to authenticate.',
      schema: { type: 'string', const: 'Bearer' },
    },
  },
  method_not_allowed: {
    Allow: {
      description: 'The methods that the path takes, with commas between them.',
      schema: { type: 'string', examples: ['HEAD, GET'] },
    },
  },
  unavailable: {
    'Retry-After': {
      description: 'In how many seconds to ask again.',
      schema: { type: 'string', pattern: '^\\d+$', examples: ['2'] },
    },
  },
};

type HeaderSpecs = Readonly<Record<string, HeaderSpec>>;

/** The headers of an answer. All of them are sent every time. */
export const headersOf = (specs: HeaderSpecs): object => ({
  ...mapValues(sharedHeaders, (_, name) => ({ $ref: `#/components/headers/${name}` })),
  ...mapValues(specs, asHeader),
});

export const headerComponents = (): object => mapValues(sharedHeaders, asHeader);

const asHeader = (spec: HeaderSpec): object => ({ required: true, ...spec });

const mapValues = (specs: HeaderSpecs, map: (spec: HeaderSpec, name: string) => object): object =>
  Object.fromEntries(Object.entries(specs).map(([name, spec]) => [name, map(spec, name)]));
