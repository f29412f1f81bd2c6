import Fastify from 'fastify'
import { expect, test } from 'vitest'
import { trackAllowedMethods } from './method-not-allowed.ts'

test('lists the methods of a URL, with any parameters and query', () => {
  const app = Fastify()
  const allowedMethods = trackAllowedMethods(app)
  app.get('/things', () => '')
  app.post('/things', () => '')
  app.delete('/things/:id', () => '')
  app.route({ method: ['PUT', 'PATCH'], url: '/things/:id/name', handler: () => '' })

  expect(allowedMethods('/things')).toEqual(['GET', 'HEAD', 'POST'])
  expect(allowedMethods('/things?limit=1')).toEqual(['GET', 'HEAD', 'POST'])
  expect(allowedMethods('/things/7')).toEqual(['DELETE'])
  expect(allowedMethods('/things/7/name')).toEqual(['PUT', 'PATCH'])
  for (const path of ['/', '/thing', '/things/7/8', '', '?']) {
    expect(allowedMethods(path), path).toEqual([])
  }
})
