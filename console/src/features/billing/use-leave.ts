import { useEffect, useState } from 'react'

/**
 * Navigates to a URL outside the console. `isLeaving` is true until the browser leaves, and false again when
 * the back button restores the page.
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
