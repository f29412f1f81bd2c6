import { useEffect, useState } from 'react'

/**
 * The current time in milliseconds, updated at an interval. The component re-renders with each update,
 * including relative times.
 */
export function useNow(everyMs: number): number {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  return now
}
