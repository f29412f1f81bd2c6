import { useEffect, useState } from 'react'

/**
 * Leads out of the console. `isLeaving` is true until the browser has left, and false again where its back button brings the
 * page back as it was.
 */
export function useLeave(): { isLeaving: boolean; leave: (url: string) => void } {
  const [isLeaving, setLeaving] = useState(false)
  useEffect(() => {
    const onPageShow = ({ persisted }: PageTransitionEvent) => persisted && setLeaving(false)
    window.addEventListener('pageshow', onPageShow)
    return () => window.removeEventListener('pageshow', onPageShow)
  }, [])
  const leave = (url: string) => {
    setLeaving(true)
    location.assign(url)
  }
  return { isLeaving, leave }
}
