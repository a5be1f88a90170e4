/** How to go on after a page of a list. */
export type Paging<Page, Item, Query> = {
  readonly items: (page: Page) => readonly Item[];
  /** What the query of the next page changes; null after the last page. */
  readonly next: (page: Page, query: Query) => Partial<Query> | null;
};

/** The first page of a list when it is awaited, and the items of all pages when it is iterated. */
export class List<Page, Item, Query> implements PromiseLike<Page>, AsyncIterable<Item> {
  readonly #read: (query: Query) => Promise<Page>;
  readonly #paging: Paging<Page, Item, Query>;
  readonly #query: Query;

  constructor(
    read: (query: Query) => Promise<Page>,
    paging: Paging<Page, Item, Query>,
    query: Query = {} as Query,
  ) {
    this.#read = read;
    this.#paging = paging;
    this.#query = query;
  }

  // oxlint-disable-next-line unicorn/no-thenable -- So that `await` gives the first page.
  then<Fulfilled = Page, Rejected = never>(
    onFulfilled?: ((page: Page) => Fulfilled | PromiseLike<Fulfilled>) | null,
    onRejected?: ((reason: unknown) => Rejected | PromiseLike<Rejected>) | null,
  ): Promise<Fulfilled | Rejected> {
    return this.#read(this.#query).then(onFulfilled, onRejected);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    let query = this.#query;
    for (let more = true; more;) {
      const page = await this.#read(query);
      yield* this.#paging.items(page);
      const next = this.#paging.next(page, query);
      query = { ...this.#query, ...next };
      more = next !== null;
    }
  }
}

/** Paging of the lists that have a `next_cursor`. */
export const byCursor = <Page extends { readonly next_cursor: string | null }, Item>(
  items: (page: Page) => readonly Item[],
): Paging<Page, Item, { cursor?: string }> => ({
  items,
  next: ({ next_cursor: cursor }) => (cursor === null ? null : { cursor }),
});
