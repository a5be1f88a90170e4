import { numberParser, type InputParser } from '@stricli/core';
import { parseInstant } from '../domain/due-time.ts';
import type { Punctual } from '../sdk/src/index.ts';

/** A flag of a command. @template T Type of its value. */
export type Flag<T> = {
  /** As stricli takes it. */
  readonly parameter: object;
  /** Exists in types only. */
  readonly type?: T;
};

type Parsed<T> = {
  readonly brief: string;
  /** Stands for the value in the help. */
  readonly placeholder?: string;
  readonly parse?: InputParser<T>;
};

const parsed = <T>({ parse, ...texts }: Parsed<T>, more: object) => ({
  parameter: { kind: 'parsed', parse: parse ?? String, ...texts, ...more },
});

export const text = (brief: string, placeholder = 'TEXT'): Flag<string | undefined> =>
  parsed({ brief, placeholder }, { optional: true });

/** Leaves room for what is added for each file of a post. */
export const idempotencyKey = (brief: string): Flag<string | undefined> =>
  parsed(
    {
      brief,
      placeholder: 'KEY',
      parse: (key) => {
        if (!/^[!-~]{1,240}$/v.test(key)) {
          throw new RangeError('A key has 1 to 240 visible ASCII characters.');
        }

        return key;
      },
    },
    { optional: true },
  );

/** The API knows the networks, and names them when it refuses another. */
export const network = (brief: string): Flag<Platform | undefined> =>
  parsed({ brief, placeholder: 'NETWORK' }, { optional: true });

type Platform = Parameters<Punctual['channels']['connect']>[0]['platform'];

/** The same flag, without which the command is refused. */
export const required = <T>({ parameter }: Flag<T>): Flag<Exclude<T, undefined>> => ({
  parameter: { ...parameter, optional: false },
});

/** A flag that can be given several times. */
export const texts = (brief: string, placeholder = 'TEXT'): Flag<string[] | undefined> =>
  parsed({ brief, placeholder }, { optional: true, variadic: true });

export const count = (brief: string, placeholder = 'N'): Flag<number | undefined> =>
  parsed({ brief, placeholder, parse: numberParser }, { optional: true });

const unitsMs: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** A time in the past: RFC 3339, or how long ago it was (`90m`, `2h`, `1d`). */
export const pastTime = (brief: string): Flag<Date | undefined> =>
  parsed(
    {
      brief,
      placeholder: 'TIME',
      parse: (given) => {
        const ago = /^(?<count>\d{1,5})(?<unit>[smhd])$/v.exec(given)?.groups;
        const at = ago
          ? new Date(Date.now() - Number(ago['count']) * (unitsMs[ago['unit'] ?? ''] ?? 0))
          : parseInstant(given);
        if (!at) {
          throw new RangeError(
            `it must be a time such as 2027-03-01T09:00:00Z, or how long ago it was, such as 90m, 2h or 1d; not "${given}".`,
          );
        }

        return new Date(Math.max(0, at.getTime())); // PostgreSQL has no year 0.
      },
    },
    { optional: true },
  );

export const toggle = (brief: string): Flag<boolean | undefined> => ({
  parameter: { kind: 'boolean', brief, optional: true, withNegated: false },
});

export const oneOf = <const V extends string>(
  values: readonly V[],
  brief: string,
): Flag<V | undefined> => ({ parameter: { kind: 'enum', values, brief, optional: true } });

/** A flag that can be given several times, each with one of these values or several, separated by commas. */
export const someOf = <const V extends string>(
  values: readonly V[],
  brief: string,
): Flag<V[] | undefined> => ({
  parameter: { kind: 'enum', values, brief, optional: true, variadic: ',' },
});

/** As a flag is typed: `--dry-run` for `dryRun`. */
export const flagName = (name: string): string =>
  `--${name.replaceAll(/[A-Z]/gv, '-$&').toLowerCase()}`;

type Given<T> = { -readonly [K in keyof T]?: Exclude<T[K], undefined> };

/** Without the fields that are undefined, which the types of the API's calls refuse. */
export const given = <T extends object>(fields: T): Given<T> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Given<T>;
