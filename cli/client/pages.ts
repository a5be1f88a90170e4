import { count, text, toggle } from '../flags.ts';

/** Flags of a list that comes in pages. */
export const pagingFlags = {
  limit: count('How many of them in a page'),
  cursor: text('The next_cursor of the page before', 'CURSOR'),
  all: toggle('All pages; with --json, each is a line'),
};

/** One page, or with `all` every page from there on. */
export async function* pages<
  Query extends { cursor?: string },
  Page extends { readonly next_cursor: string | null },
>(
  read: (query: Query) => PromiseLike<Page>,
  query: Query,
  all: boolean | undefined,
): AsyncGenerator<Page> {
  for (let next: string | null | undefined = query.cursor; next !== null;) {
    const page: Page = await read(next === undefined ? query : { ...query, cursor: next });
    yield page;
    next = all ? page.next_cursor : null;
  }
}
