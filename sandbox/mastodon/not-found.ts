import { Refusal } from '../refusal.ts';

export function notFound(): Refusal {
  return new Refusal(404, 'Record not found');
}
