import { AppError } from '../../domain/errors.ts';
import { isText, pasted } from '../../domain/texts.ts';
import type { OauthEntry } from '../../networks/oauth/contract.ts';
import { networkName } from './network-name.ts';

/** In UTF-16 code units: longer than any address of a server or handle. */
const longestValue = 500;

/**
 * Validates the values that the caller or the person gave. Whether the server exists is checked later, when the
 * authorization begins.
 *
 * @param called Maps a field to the name that the user sees.
 * @returns the values without surrounding spaces and invisible characters; empty ones are omitted.
 * @throws AppError `invalid_request`
 */
export function checkValues(
  platform: string,
  entry: Pick<OauthEntry, 'fields' | 'name'>,
  values: Readonly<Record<string, string>>,
  called: (name: string) => string = (name) => name,
): Record<string, string> {
  const checked: Record<string, string> = {};
  for (const [name, given] of Object.entries(values)) {
    const value = pasted(given);
    const field = Object.hasOwn(entry.fields, name) ? entry.fields[name] : undefined;
    if (!field) {
      throw wrong(name, name, `is not taken for an account of ${networkName(platform, entry)}`);
    }

    if (value.length > longestValue || !isText(value) || /[\p{Cc}\p{Zs}]/v.test(value)) {
      throw wrong(name, called(name), `must be such as ${field.placeholder}, without spaces`);
    }

    if (value !== '') {
      checked[name] = value;
    }
  }

  return checked;
}

const wrong = (name: string, called: string, message: string): AppError =>
  new AppError('invalid_request', `${called} ${message}.`, {
    details: [{ path: `/${name}`, message }],
  });
