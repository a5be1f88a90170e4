export * from '../../support/query-plan.ts';
export { storeMany } from '../../support/seed-deliveries.ts';
