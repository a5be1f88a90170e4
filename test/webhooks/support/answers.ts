export * from '../../support/answers.ts';
