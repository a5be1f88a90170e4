/** How to go on after a page of a list. */
export type Paging<Page, Item, Query> = {
  readonly items: (page: Page) => readonly Item[];
  /** What the query of the next page changes; null after the last page. */
  readonly next: (page: Page, query: Query) => Partial<Query> | null;
};

/** The first page of a list when it is awaited, and the items of all pages when it is iterated. */
export type List<Page, Item> = Promise<Page> & AsyncIterable<Item>;

export const listOf = <Page, Item, Query>(
  read: (query: Query) => Promise<Page>,
  { items, next }: Paging<Page, Item, Query>,
  given: Query = {} as Query,
): List<Page, Item> =>
  // Has `catch` and `finally` too, which call `then`. Nothing is read before one of them.
  Object.assign(Object.create(Promise.prototype) as Promise<Page>, {
    // oxlint-disable-next-line unicorn/no-thenable -- So that `await` gives the first page.
    then: (...handlers: Parameters<Promise<Page>['then']>) => read(given).then(...handlers),
    async *[Symbol.asyncIterator]() {
      for (let change: Partial<Query> | null = {}, query = given; change;) {
        const page = await read(query);
        yield* items(page);
        change = next(page, query);
        query = { ...given, ...change };
      }
    },
  });

/** Paging of the lists that have a `next_cursor`. */
export const byCursor = <Page extends { readonly next_cursor: string | null }, Item>(
  items: (page: Page) => readonly Item[],
): Paging<Page, Item, { cursor?: string }> => ({
  items,
  next: ({ next_cursor: cursor }) => (cursor === null ? null : { cursor }),
});
