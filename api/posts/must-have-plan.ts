import { AppError } from '../../domain/errors.ts';
import type { Caller } from '../http/route.ts';

/** @throws AppError `plan_required` */
export function mustHavePlan({ plan }: Pick<Caller, 'plan'>): void {
  if (plan === null) {
    throw new AppError('plan_required', 'This workspace has no active plan.');
  }
}
