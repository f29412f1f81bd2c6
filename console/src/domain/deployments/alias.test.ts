import { expect, test } from 'vitest'
import type { Deployment } from '../../contract.ts'
import { findAliasError, findShadowed, listByOrder, parseOrder } from './alias.ts'

test('a name without spaces and accents is an alias; none is too', () => {
  expect([' team-chat ', ''].map(findAliasError)).toEqual([undefined, undefined])
  expect(findAliasError('two words')).toMatch(/^Use /)
})

test('an alias shadows models of its name, and the same alias of others', () => {
  const make = (id: string, user_id: string, alias: string | null) =>
    ({ id, user_id, alias, model_name: 'tiny' }) as Deployment
  const own = make('1', 'me', 'chat')
  const callable = [own, make('2', 'me', 'chat'), make('3', 'you', 'chat'), make('4', 'you', null)]
  const list = (alias: string) => findShadowed(own, alias, callable).map(({ id }) => id)
  expect(list(' chat ')).toEqual(['3'])
  expect(list('tiny')).toEqual(['2', '3', '4'])
  expect(list('')).toEqual([])
})

test('an order is a whole number from 1 to 1,000, or none', () => {
  expect([' 2 ', '1000', ''].map(parseOrder)).toEqual([2, 1000, null])
  for (const invalid of ['0', '1001', '1.5', '-1', 'first']) expect(parseOrder(invalid)).toBeUndefined()
})

test('the deployments of an alias go by their order, those without one last', () => {
  const make = (id: string, user_id: string, alias: string | null, alias_order: number | null) =>
    ({ id, user_id, alias, alias_order }) as Deployment
  const changed = make('1', 'me', 'chat', 2)
  const callable = [
    make('2', 'me', 'chat', null),
    make('3', 'me', 'chat', 1),
    make('4', 'you', 'chat', 1),
    make('5', 'me', null, null),
    make('1', 'me', 'chat', 9),
  ]
  expect(listByOrder(changed, callable).map(({ id }) => id)).toEqual(['3', '1', '2'])
})
