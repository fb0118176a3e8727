// Times and states as the page writes them.

export const duration = (seconds) => {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
};

// How long a run or a queue takes yet.
export const timeLeft = (seconds, atMost) => {
  const time = duration(seconds);
  return atMost ? `at most ${time} left` : `${time} left`;
};

// A state or direction as the bench records it.
export const word = (recorded) => recorded.replace("_", " ");
