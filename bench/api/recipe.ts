import { readFile, truncate } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Statement } from './record-statements.ts';

/** What differs from request to request. */
export type Slot =
  /** SHA-256 of the caller's key. */
  | 'key'
  | 'workspace'
  /** The id in the path. */
  | 'id'
  /** The post's text. */
  | 'body'
  /** The time of the request. */
  | 'now'
  /** An id that this request makes: `new 0`, `new 1` … */
  | `new ${number}`;

/** A value of a statement, with `<<slot>>` in the place of what a request brings; null is SQL's, and a list is an array's. */
type Template = string | null | readonly Template[];

/** A statement of the product, with `$1`, `$2` … where a request's own values stand. */
type Step = {
  readonly text: string;
  readonly values: readonly Template[];
  readonly name?: string;
};

export type Recipe = readonly Step[];

/** Counting calls is the product's own; the bare server has no limits. */
const isLimit = ({ text }: Statement): boolean => /\brate_limits\b/v.test(text);

/**
 * What the product asks of PostgreSQL for a call, without what it asks for its rate limits. Calls until it asks twice
 * for the same: what it does once, at its start, is no part of a call.
 *
 * @throws Error when it never does.
 */
export async function statementsOf(
  file: string,
  call: () => Promise<unknown>,
): Promise<Statement[]> {
  let before: readonly Statement[] = [];
  for (let tries = 0; tries < 10; tries += 1) {
    await truncate(file);
    await call();
    const statements = await readStatements(file);
    if (statements.length > 0 && shapeOf(statements) === shapeOf(before)) {
      return statements;
    }

    before = statements;
    await sleep(200);
  }

  throw new Error('The product asks PostgreSQL for something else each time.');
}

async function readStatements(file: string): Promise<Statement[]> {
  const lines = (await readFile(file, 'utf8')).split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line) as Statement).filter((one) => !isLimit(one));
}

const literal = /'(?<value>(?:[^']|'')*)'/gv;

const shapeOf = (statements: readonly Statement[]): string =>
  statements.map(({ text }) => text.replaceAll(literal, '?')).join('\n');

const uuid = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';
const instant = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`;

/**
 * Puts slots in the place of what belongs to one request.
 *
 * @param known Values of that request, of letters, digits, spaces and hyphens. Every other UUID is one that the request made, unless it is among `constants`.
 */
export function recipeOf(
  statements: readonly Statement[],
  known: Readonly<Record<string, Slot>>,
  constants: readonly string[] = [],
): Recipe {
  const made = new Map<string, Slot>();
  const slotOf = (part: string): Slot => {
    const slot = known[part] ?? (part.endsWith('Z') ? 'now' : made.get(part));
    if (slot !== undefined) {
      return slot;
    }

    const fresh = `new ${made.size}` as const;
    made.set(part, fresh);
    return fresh;
  };
  const parts = new RegExp([...Object.keys(known), uuid, instant].join('|'), 'gv');
  const templateOf = (value: string): string =>
    value.replaceAll(parts, (part) => (constants.includes(part) ? part : `<<${slotOf(part)}>>`));
  return statements.map((statement) => stepOf(statement, templateOf));
}

/** The ORM writes values into the text, others send them beside it; what a request brings becomes `$n` in both. */
function stepOf({ text, values, name }: Statement, templateOf: (value: string) => string): Step {
  const templateOfValue = (value: unknown): Template => {
    if (Array.isArray(value)) {
      return value.map(templateOfValue);
    }

    return value === null ? null : templateOf(String(value));
  };
  const templates = values.map(templateOfValue);
  const parametrized = text.replaceAll(literal, (whole, value: string) => {
    const template = templateOf(value);
    return template === value ? whole : `$${templates.push(template)}`;
  });
  return { text: parametrized, values: templates, ...(name === undefined ? {} : { name }) };
}

/** A template's value for one request. */
export function fill(template: Template, valueOf: (slot: Slot) => string): Template {
  if (template === null || typeof template !== 'string') {
    return template?.map((each) => fill(each, valueOf)) ?? null;
  }

  return template.replaceAll(/<<(?<slot>[^>]+)>>/gv, (_, slot: Slot) => valueOf(slot));
}
