import { expect, test } from 'vitest'
import type { Deployment } from '../../contract.ts'
import { findAliasError, findShadowed } from './alias.ts'

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
