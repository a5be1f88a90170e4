import { AppError } from '../../domain/errors.ts';
import { isText } from '../../domain/texts.ts';
import { postAddress } from '../../domain/links.ts';

const maxLength = 2048;

/**
 * The address under which somebody found a post, as every browser writes it. It is shown as a link and never asked for.
 *
 * @throws AppError `invalid_request` when it is no absolute http or https URL.
 */
export function settledUrl(given: string): string {
  const url = isText(given) ? URL.parse(given) : null;
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw invalid('must be the whole address of the post, such as https://social.example/@me/1');
  }

  if (url.username !== '' || url.password !== '') {
    throw invalid('must not have a user name or a password in it');
  }

  if (url.href.length > maxLength) {
    throw invalid(`must have at most ${maxLength} characters`);
  }

  return postAddress(given);
}

function invalid(message: string): AppError {
  const details = [{ path: '/url', message }];
  return new AppError('invalid_request', `url ${message}.`, { details });
}
