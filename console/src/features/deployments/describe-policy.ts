import type { Deployment } from '../../contract.ts'
import { formatNumber } from '../../format.ts'
import { text } from '../../text/index.ts'

const words = text.instances

/** A policy in two or three sentences, without its schedules. */
export function describePolicy({
  min_instances: least,
  max_instances: most,
  idle_minutes: minutes,
  yields,
}: Deployment['policy']): string {
  const instances =
    least === most
      ? words.awake(most, formatNumber(most))
      : words.awakeByLoad(formatNumber(least), formatNumber(most))
  const sleep = minutes === null ? words.neverSleeps : words.sleepsAfter(minutes, formatNumber(minutes))
  return [instances, sleep, ...(yields ? [words.yieldsHardware] : [])].join(' ')
}
