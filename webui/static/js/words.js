// Times as text.

export const duration = (seconds) => {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
};

// The remaining time of a run or queue.
export const timeLeft = (seconds, isUpperBound) => {
  const time = duration(seconds);
  return isUpperBound ? `at most ${time} left` : `${time} left`;
};
