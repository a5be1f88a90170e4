/** How to go on after a page of a list. */
export type Paging<Page, Item, Query> = {
  readonly items: (page: Page) => readonly Item[];
  /** The changed parameters of the next page's query; null after the last page. */
  readonly next: (page: Page, query: Query) => Partial<Query> | null;
};

/** The first page of a list when it is awaited, and the items of all pages when it is iterated. */
export type List<Page, Item> = Promise<Page> & AsyncIterable<Item>;

export function listOf<Page, Item, Query>(
  read: (query: Query) => Promise<Page>,
  { items, next }: Paging<Page, Item, Query>,
  given: Query = {} as Query,
): List<Page, Item> {
  const first = read(given);
  first.catch(() => {}); // A later await or iteration still gets the error.
  return Object.assign(first, {
    async *[Symbol.asyncIterator]() {
      for (let reading = first, query = given; ;) {
        const page = await reading;
        yield* items(page);
        const change = next(page, query);
        if (change === null) {
          return;
        }

        query = { ...given, ...change };
        reading = read(query);
      }
    },
  });
}

/** Paging of the lists that have a `next_cursor`. */
export const byCursor = <Page extends { readonly next_cursor: string | null }, Item>(
  items: (page: Page) => readonly Item[],
): Paging<Page, Item, { cursor?: string }> => ({
  items,
  next: ({ next_cursor: cursor }) => (cursor === null ? null : { cursor }),
});
