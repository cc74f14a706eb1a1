import { expect, it } from 'vitest';
import { offered, serverNavigation, serverPages } from './navigation';

it('offers pages about users to those who may list them', () => {
  const labels = (mayListUsers: boolean) =>
    [...offered(serverNavigation, mayListUsers), ...offered(serverPages, mayListUsers)].map(({ label }) => label);
  expect(labels(true)).toEqual(expect.arrayContaining(['Repositories', 'Access', 'Groups', 'Policies']));
  expect(labels(false)).toEqual(labels(true).filter((label) => !['Access', 'Groups', 'Policies'].includes(label)));
});
