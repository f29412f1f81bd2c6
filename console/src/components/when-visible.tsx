import { useEffect, useRef, useState, type ReactNode } from 'react'

/** Shows `fallback` until its place is close to the visible part of the page, and then its children, whose code is large. */
export function WhenVisible({ fallback, children }: { fallback: ReactNode; children: ReactNode }) {
  const place = useRef<HTMLDivElement>(null)
  const [wasVisible, setWasVisible] = useState(false)
  useEffect(() => {
    if (wasVisible || place.current === null) return
    const observer = new IntersectionObserver(
      (entries) => entries.some(({ isIntersecting }) => isIntersecting) && setWasVisible(true),
      { rootMargin: '100px' },
    )
    observer.observe(place.current)
    return () => observer.disconnect()
  }, [wasVisible])
  return <div ref={place}>{wasVisible ? children : fallback}</div>
}
