import type { ErrorDetail } from '../../domain/errors.ts';

/** How the document describes an error code. */
export type DescribedError = {
  /** When the error occurs. */
  readonly when: string;
  readonly example: { readonly error: string; readonly details?: readonly ErrorDetail[] };
};

/** The details of an example with one problem. */
export const at = (path: string, message: string): Pick<DescribedError['example'], 'details'> => ({
  details: [{ path, message }],
});
