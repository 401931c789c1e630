"""Space of schedules: loop orders, trees and tiles that may be chosen, and whether a schedule can be executed."""
