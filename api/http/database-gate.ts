import { AppError } from '../../domain/errors.ts';

/** Stands before the database until that is prepared: it has its schema, and this process the right SECRET_KEY. */
export type DatabaseGate = {
  readonly isOpen: () => boolean;
  readonly open: () => void;
  /** @throws AppError `unavailable` while the gate is closed. */
  readonly assertOpen: () => void;
};

export function createDatabaseGate(): DatabaseGate {
  let isOpen = false;
  return {
    isOpen: () => isOpen,
    open: () => {
      isOpen = true;
    },
    assertOpen: () => {
      if (!isOpen) {
        throw new AppError('unavailable', 'The database is being prepared. Try again.');
      }
    },
  };
}
