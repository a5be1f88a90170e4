export { openReceivers as openStage } from '../../support/receivers.ts';
