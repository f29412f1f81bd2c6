import { test } from 'vitest'
import { openSteppingHost } from './stepping-host.ts'

const billOnSteppingHost = openSteppingHost()

test.each([1, 2, 3, 4, 5])(
  'each second that is billed by a host whose clock steps is one that passed (seed %i)',
  billOnSteppingHost,
)
