import { useEffect, useState } from 'react'

/** The time in milliseconds, anew after so many; times that are told in words within what calls it are told anew as well. */
export function useNow(everyMs: number): number {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  return now
}
