export { countDeliveries, queueEvents } from '../../support/seed-deliveries.ts';
