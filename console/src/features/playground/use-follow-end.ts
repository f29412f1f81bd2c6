import { useCallback, useEffect, useRef, useState } from 'react'

/** Distance in pixels from the end within which the view keeps following. */
const nearEnd = 48

/** Keeps a scroll container at its end while its first child grows, until the person scrolls up. */
export function useFollowEnd() {
  const box = useRef<HTMLDivElement>(null)
  const following = useRef(true)
  const [away, setAway] = useState(false)

  const scrollToEnd = useCallback(() => {
    following.current = true
    setAway(false)
    box.current?.scrollTo({ top: box.current.scrollHeight })
  }, [])

  useEffect(() => {
    const element = box.current
    const content = element?.firstElementChild
    if (!element || !content) return
    let before = element.scrollTop
    const onScroll = () => {
      const { scrollTop, scrollHeight, clientHeight } = element
      const near = scrollHeight - scrollTop - clientHeight < nearEnd
      // Growing content also increases the distance to the end. Only scrolling up stops following.
      if (near) following.current = true
      else if (scrollTop < before) following.current = false
      before = scrollTop
      setAway(!following.current)
    }
    const observer = new ResizeObserver(() => {
      if (following.current) element.scrollTop = element.scrollHeight
    })
    observer.observe(content)
    observer.observe(element)
    element.addEventListener('scroll', onScroll, { passive: true })
    return () => {
      observer.disconnect()
      element.removeEventListener('scroll', onScroll)
    }
  }, [])

  return { box, away, scrollToEnd }
}
