import { IncomingMessage } from 'node:http';
import { createGrowingBuffer } from '../../runtime/bytes.ts';

/**
 * A request that joins the chunks of its body until they are read. Node keeps an object for each: a thousand requests
 * of 100 kB in chunks of four bytes filled a gigabyte while their keys were looked up.
 */
export class JoinedRequest extends IncomingMessage {
  #unread = createGrowingBuffer();
  #isReading = false;

  /** @returns false when the connection has to wait for the reader. */
  override push(chunk: Buffer | null): boolean {
    if (chunk !== null && !this.#isReading) {
      this.#unread.append(chunk);
      return this.#unread.length < this.readableHighWaterMark;
    }

    if (chunk === null) {
      this.#pushUnread();
    }

    this.#isReading = false;
    return super.push(chunk);
  }

  override _read(size: number): void {
    this.#isReading = !this.#pushUnread();
    super._read(size); // oxlint-disable-line no-underscore-dangle -- The contract of streams.
  }

  #pushUnread(): boolean {
    const unread = this.#unread.bytes();
    if (unread.length > 0) {
      this.#unread = createGrowingBuffer();
      super.push(unread);
    }

    return unread.length > 0;
  }
}
